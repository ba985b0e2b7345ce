//! Servers that want to see a certificate: shown where it is configured, and to nobody else.

use std::path::PathBuf;
use std::sync::Arc;

use petasos_mcp::client::State;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use tokio_rustls::TlsAcceptor;

use crate::kit::{Kit, view};
use crate::web::{Asked, Told, Web};

/// An authority, a server that wants its certificates, and one of them for us.
struct Papers {
    acceptor: TlsAcceptor,
    authority: PathBuf,
    cert: PathBuf,
    key: PathBuf,
    both: PathBuf,
}

fn papers(kit: &Kit) -> Papers {
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(params, authority_key);
    let made = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &issuer).unwrap(), key)
    };
    let (server, server_key) = made("localhost");
    let (ours, our_key) = made("client");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            vec![server.der().clone()],
            PrivateKeyDer::try_from(server_key.serialize_der()).unwrap(),
        )
        .unwrap();
    let both = format!("{}{}", ours.pem(), our_key.serialize_pem());
    Papers {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        authority: kit.home.write("ca.pem", authority.pem()),
        cert: kit.home.write("cert.pem", ours.pem()),
        key: kit.home.write("key.pem", our_key.serialize_pem()),
        both: kit.home.write("both.pem", both),
    }
}

#[tokio::test]
async fn a_certificate_is_shown_in_every_form_that_it_can_be_configured() {
    let kit = Kit::new();
    let papers = papers(&kit);
    let web = Web::serve_tls(papers.acceptor.clone(), Asked::usual).await;
    let url = format!("https://localhost:{}/mcp", web.address.port());
    let base = json!({ "url": url, "ssl_verify": papers.authority, "connect_timeout": 10 });
    let forms = [
        json!({ "client_cert": papers.both }),
        json!({ "client_cert": papers.cert, "client_key": papers.key }),
        json!({ "client_cert": [papers.cert, papers.key] }),
    ];
    for form in forms {
        let mut entry = base.clone();
        entry.as_object_mut().unwrap().extend(form.as_object().unwrap().clone());
        let servers = kit.start(&[("safe", entry)]).await;
        assert_eq!(view(&servers, "safe").state, State::Ready, "{form}");
        assert!(kit.echo("safe", "x").await.contains("heard"));
    }
}

#[tokio::test]
async fn a_certificate_does_not_follow_a_redirect_to_another_origin() {
    let kit = Kit::new();
    let papers = papers(&kit);
    let elsewhere = Web::serve_tls(papers.acceptor.clone(), Asked::usual).await;
    let target = format!("https://localhost:{}/mcp", elsewhere.address.port());
    let web = Web::serve_tls(papers.acceptor.clone(), move |asked| match asked.rpc() {
        "tools/call" => Told { status: 307, ..Told::default() }.with("location", &target),
        _ => asked.usual(),
    })
    .await;
    let url = format!("https://localhost:{}/mcp", web.address.port());
    let entry: Value = json!({
        "url": url, "ssl_verify": papers.authority, "client_cert": papers.both, "timeout": 5,
    });
    let _servers = kit.start(&[("safe", entry)]).await;
    // The other server wants a certificate, too, and gets none.
    let text = kit.echo("safe", "x").await;
    assert!(text.contains("error") && !text.contains("heard"), "{text}");
}
