//! Our messages are, byte for byte, what the vendor's own library writes.

use prost::Message;

use super::super::messages::*;

fn hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn is<M: Message + Default + PartialEq + std::fmt::Debug>(message: &M, vendors: &str) {
    assert_eq!(message.encode_to_vec(), hex(vendors), "{message:?}");
    assert_eq!(&M::decode(hex(vendors).as_slice()).unwrap(), message);
}

fn text(value: &str) -> String {
    value.to_owned()
}

#[test]
fn messages_of_the_router_are_the_vendors() {
    is(
        &TaskExecStartRequest {
            task_id: text("t"),
            exec_id: text("e"),
            command_args: vec![text("a"), text("b")],
            stdout_config: ROUTER_STDOUT_PIPE,
            stderr_config: ROUTER_STDERR_PIPE,
            timeout_secs: Some(7),
            workdir: None,
        },
        "0a01741201651a01611a0162200128013007",
    );
    let (task_id, exec_id) = (text("t"), text("e"));
    let data = b"xy".to_vec();
    is(
        &TaskExecStdinWriteRequest { task_id, exec_id, offset: 3, data, eof: true },
        "0a01741201651803220278792801",
    );
    let (task_id, exec_id) = (text("t"), text("e"));
    is(
        &TaskExecStdioReadRequest { task_id, exec_id, offset: 4, file_descriptor: 1 },
        "0a017412016518042001",
    );
    is(&TaskExecStdioReadResponse { data: b"hi".to_vec() }, "0a026869");
    is(&TaskExecWaitResponse { exit_status: Some(ExitStatus::Code(7)) }, "0807");
    is(&TaskExecWaitResponse { exit_status: Some(ExitStatus::Signal(9)) }, "1009");
    is(&TaskGetCommandRouterAccessResponse { jwt: text("j"), url: text("u") }, "0a016a120175");
}

#[test]
fn messages_of_the_control_plane_are_the_vendors() {
    let definition = Sandbox {
        entrypoint_args: vec![text("sleep"), text("3600")],
        image_id: text("im"),
        resources: Some(Resources { memory_mb: 5120, milli_cpu: 1000, ephemeral_disk_mb: 0 }),
        timeout_secs: 3600,
        workdir: None,
        network_access: Some(NetworkAccess { network_access_type: NetworkAccess::OPEN }),
        name: Some(text("n")),
        direct_sandbox_commands_enabled: true,
    };
    is(
        &SandboxCreateRequest { app_id: text("ap"), definition: Some(definition) },
        "0a02617012280a05736c6565700a04333630301a02696d2a0610802818e80738901cb201020801f201016e900201",
    );
    is(
        &ContainerExecRequest {
            task_id: text("t"),
            command: vec![text("a")],
            stdout_output: OUTPUT_PIPE,
            stderr_output: OUTPUT_PIPE,
            timeout_secs: 9,
            workdir: None,
        },
        "0a0174120161300238024009",
    );
    let input = RuntimeInputMessage { message: b"x".to_vec(), message_index: 1, eof: true };
    is(
        &ContainerExecPutInputRequest { exec_id: text("e"), input: Some(input) },
        "0a016512070a017810011801",
    );
    is(
        &ContainerExecGetOutputRequest {
            exec_id: text("e"),
            timeout: 55.0,
            last_batch_index: 2,
            file_descriptor: STDERR,
            get_raw_bytes: true,
        },
        "0a01651500005c42180220022801",
    );
    is(
        &ImageGetOrCreateRequest {
            image: Some(Image { dockerfile_commands: vec![text("FROM x")] }),
            app_id: text("ap"),
            namespace: NAMESPACE_WORKSPACE,
            builder_version: text("2024.10"),
        },
        "1208320646524f4d20782202617040014a07323032342e3130",
    );
    is(&RpcRetryPolicy { retry_after_secs: 1.5 }, "0d0000c03f");
}
